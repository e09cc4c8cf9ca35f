// The place of this file decides where the generated Python module goes.

include "tilews/Dialect/Tile/IR/TileAttrs.td"
