"""The slash contract: `/shell` and its kin, as an interface uses them; no interface is in here."""
