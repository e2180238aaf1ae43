"""How far apart two models are: relative entropy exactly, for Gaussians and mixed networks, and by sampling."""
