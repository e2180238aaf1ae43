"""The layered layout of a graph of boxes: layers, orders with few crossings, places, and curves around the boxes."""
