"""The gateway over GraphQL: types of every plane, pages, results, loaders, limits, live events."""
