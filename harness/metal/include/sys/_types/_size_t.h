// Darwin's header of this name, which MPSGuardImpl.h includes.
#pragma once
#include <stddef.h>
