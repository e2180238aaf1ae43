"""Networks of linear Gaussians, with or without discrete variables, above `gaussian`: rows with missing cells (`rows`),
for which `choices` enumerates hidden discrete contexts; questions about numbers (`questions`, `wide`), and moments by a
sweep from parents to children (`moments`)."""
