"""Operations on the rows of a matrix."""
