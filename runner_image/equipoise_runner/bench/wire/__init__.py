"""The only language between collector and bench: messages of fixed size over a Unix socket."""
