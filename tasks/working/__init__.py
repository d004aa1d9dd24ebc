"""What only workers use: claiming, children, leases, ends. The rest of the house calls `tasks`."""
