"""Features of rows: scaler, bases, reweighting, and the frozen draw in blocks."""
