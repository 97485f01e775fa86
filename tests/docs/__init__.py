"""What the documents show is what the product does."""
