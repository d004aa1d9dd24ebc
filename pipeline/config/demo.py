"""Fixed names of the demo company and its owner."""

COMPANY = "Harbour & Pine (demo)"
OWNER = "owner@demo.example"
