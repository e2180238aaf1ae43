<<<<<<< HEAD
"""The choice of a search for the best assignment, by what the model allows."""
=======
"""The choice among the methods for assignments."""
>>>>>>> main
