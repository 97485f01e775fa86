"""The commands, as a shell starts them."""
