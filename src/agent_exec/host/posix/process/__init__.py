"""One command as its owner sees it: started, streamed, handed off."""
