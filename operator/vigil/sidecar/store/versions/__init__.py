"""The migrations, in order; each leaves the database as its version needs it, and none is ever changed."""
