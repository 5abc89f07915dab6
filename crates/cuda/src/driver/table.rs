//! Entry points of the CUDA driver, as its public header declares them.
//!
//! Must hold nothing but the table: what may be passed is written at the callers.

use std::ffi::{c_char, c_int, c_uint, c_void};

/// Any object of the driver's.
pub(crate) type Handle = *mut c_void;
/// An address on a device.
pub(crate) type Address = u64;

/// A struct of function pointers and the library that holds them.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident { $($entry:ident = $symbol:literal ($($argument:ty),* $(,)?);)* }) => {
        $(#[$doc])*
        pub(crate) struct $table {
            $(pub(crate) $entry: unsafe extern "C" fn($($argument),*) -> std::ffi::c_int,)*
            // Kept: the entries point into it.
            _library: libloading::Library,
        }

        impl $table {
            /// Every entry, or the name of the first that is missing.
            pub(crate) fn of(library: libloading::Library) -> Result<Self, String> {
                $(
                    // SAFETY: the type is the one of the library's public header.
                    let $entry = unsafe {
                        library.get::<unsafe extern "C" fn($($argument),*) -> std::ffi::c_int>($symbol)
                    }
                    .map(|symbol| *symbol)
                    .map_err(|_| $symbol.to_owned())?;
                )*
                Ok(Self { $($entry,)* _library: library })
            }
        }
    };
}
pub(crate) use table;

table! {
    /// The driver's entries that are used.
    Table {
        init = "cuInit"(c_uint);
        driver_version = "cuDriverGetVersion"(*mut c_int);
        error_name = "cuGetErrorName"(c_int, *mut *const c_char);
        error_string = "cuGetErrorString"(c_int, *mut *const c_char);
        device_count = "cuDeviceGetCount"(*mut c_int);
        device_get = "cuDeviceGet"(*mut c_int, c_int);
        device_name = "cuDeviceGetName"(*mut c_char, c_int, c_int);
        device_attribute = "cuDeviceGetAttribute"(*mut c_int, c_int, c_int);
        device_memory = "cuDeviceTotalMem_v2"(*mut usize, c_int);
        device_uuid = "cuDeviceGetUuid_v2"(*mut u8, c_int);
        context_retain = "cuDevicePrimaryCtxRetain"(*mut Handle, c_int);
        context_release = "cuDevicePrimaryCtxRelease_v2"(c_int);
        context_set = "cuCtxSetCurrent"(Handle);
        context_synchronize = "cuCtxSynchronize"();
        module_load = "cuModuleLoadData"(*mut Handle, *const c_void);
        module_unload = "cuModuleUnload"(Handle);
        module_function = "cuModuleGetFunction"(*mut Handle, Handle, *const c_char);
        function_set = "cuFuncSetAttribute"(Handle, c_int, c_int);
        function_get = "cuFuncGetAttribute"(*mut c_int, c_int, Handle);
        resident_blocks = "cuOccupancyMaxActiveBlocksPerMultiprocessor"(*mut c_int, Handle, c_int, usize);
        launch = "cuLaunchKernel"(
            Handle, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, Handle, *mut *mut c_void, *mut *mut c_void,
        );
        memory_allocate = "cuMemAlloc_v2"(*mut Address, usize);
        memory_free = "cuMemFree_v2"(Address);
        memory_info = "cuMemGetInfo_v2"(*mut usize, *mut usize);
        memory_set = "cuMemsetD8_v2"(Address, u8, usize);
        copy_up = "cuMemcpyHtoD_v2"(Address, *const c_void, usize);
        copy_down = "cuMemcpyDtoH_v2"(*mut c_void, Address, usize);
        copy_across = "cuMemcpyDtoDAsync_v2"(Address, Address, usize, Handle);
        stream_create = "cuStreamCreate"(*mut Handle, c_uint);
        stream_destroy = "cuStreamDestroy_v2"(Handle);
        stream_synchronize = "cuStreamSynchronize"(Handle);
        capture_begin = "cuStreamBeginCapture_v2"(Handle, c_int);
        capture_end = "cuStreamEndCapture"(Handle, *mut Handle);
        graph_instantiate = "cuGraphInstantiateWithFlags"(*mut Handle, Handle, u64);
        graph_launch = "cuGraphLaunch"(Handle, Handle);
        graph_executable_destroy = "cuGraphExecDestroy"(Handle);
        graph_destroy = "cuGraphDestroy"(Handle);
        event_create = "cuEventCreate"(*mut Handle, c_uint);
        event_destroy = "cuEventDestroy_v2"(Handle);
        event_record = "cuEventRecord"(Handle, Handle);
        event_query = "cuEventQuery"(Handle);
        event_elapsed = "cuEventElapsedTime"(*mut f32, Handle, Handle);
    }
}
