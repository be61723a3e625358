// GNUstep asks for libobjc2's header of this name; runtime/blocks.mm supplies the functions.
#pragma once
#include <Block.h>
