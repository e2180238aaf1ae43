"""Structure inside CPDs: decision trees and graphs over the parents, and families of other forms than tables."""
