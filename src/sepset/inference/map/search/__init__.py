"""Search for assignments of high value by moves of many variables, without a proof."""
