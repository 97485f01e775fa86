"""What a decision and a state document cost; measured by `make bench`, never by `make test`."""
