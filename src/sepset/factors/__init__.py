"""Factors: the algebra over scopes on which every exact method stands."""
