"""What evidence does to an answer: soft findings fitted, minimal conflicts named, findings retracted."""
