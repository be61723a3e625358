// What Foundation has on Darwin and not in GNUstep, as far as ATen/mps asks for it.
#import <Foundation/Foundation.h>
#include <mach/vm_page_size.h>
#include <simulated_metal/control.h>

extern "C" size_t vm_page_size = 16384; // Apple Silicon

@implementation NSProcessInfo (SimulatedDarwin)
- (BOOL)isOperatingSystemAtLeastVersion:(NSOperatingSystemVersion)version {
  const auto& configuration = simulated_metal::configuration();
  const NSInteger major = (NSInteger)configuration.macos_major;
  const NSInteger minor = (NSInteger)configuration.macos_minor;
  return major > version.majorVersion || (major == version.majorVersion && minor >= version.minorVersion);
}
@end
