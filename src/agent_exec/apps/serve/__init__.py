"""Everything over HTTP: each verb and tool as an operation of REST, streams of events, tokens with scopes."""
