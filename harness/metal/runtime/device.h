// MTLDevice: the one simulated GPU.
#pragma once
#import "object.h"
#import <Metal/Metal.h>

@interface SMDevice : SMObject <MTLDevice>
@end
