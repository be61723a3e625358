// GPU capture, which the simulated device does not support: MPSProfiler asks and gets "no".
#import <Metal/Metal.h>

@implementation MTLCaptureDescriptor
@synthesize captureObject = _captureObject;
@synthesize destination = _destination;
@synthesize outputURL = _outputURL;
@end

@implementation MTLCaptureManager
+ (MTLCaptureManager*)sharedCaptureManager {
  static MTLCaptureManager* manager = [MTLCaptureManager new];
  return manager;
}
- (BOOL)isCapturing {
  return NO;
}
- (BOOL)supportsDestination:(MTLCaptureDestination)destination {
  return NO;
}
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor*)descriptor error:(NSError**)error {
  return NO;
}
- (void)stopCapture {
}
@end
