"""The only language between collector and bench: small messages of fixed size over a Unix socket."""
