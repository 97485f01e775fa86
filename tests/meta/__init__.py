"""The shape of the repository: layers, registrations, and the rules that a reader relies on."""
