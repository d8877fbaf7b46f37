"""How far time has come: watermarks, lateness, idle inputs, late rows."""
