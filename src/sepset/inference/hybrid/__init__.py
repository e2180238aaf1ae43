"""Networks of linear Gaussians, with or without discrete variables: rows with missing cells (`rows`), for which
`choices` enumerates hidden discrete contexts and `conditioning` regresses missing numbers on those found, coordinate by
coordinate (`coordinates`); and moments by a sweep from parents to children (`moments`)."""
