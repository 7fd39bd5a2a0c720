//! Memory of an execution provider, in which caches stay from run to run.
//!
//! Only the provider reads and writes its memory, so a part of a tensor is copied by a small graph that runs on the same provider.

use std::sync::{Mutex, MutexGuard, PoisonError};

use alloquy_core::Result;
use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::session::{IoBinding, Session};
use ort::value::{DynTensor, DynValue, Tensor, TensorElementType};

use crate::cache_element::CacheElement;
use crate::error;
use crate::graph_edit::{COPY, ENDS, FROM, PLACES, STARTS, TO, part_copy, whole_copy, write_into};
use crate::slot::Slot;

/// Memory of an execution provider.
#[derive(Debug)]
pub(crate) struct DeviceMemory {
    /// The name that ONNX Runtime has for it, such as `Cuda`.
    name: String,
    info: MemoryInfo<'static>,
    allocator: Mutex<Allocator>,
    /// One for each number type of the caches.
    copiers: Vec<Copier>,
}

/// The graphs that copy tensors of one number type.
#[derive(Debug)]
struct Copier {
    element: CacheElement,
    whole: Mutex<Session>,
    part: Mutex<Session>,
    write: Mutex<Session>,
}

/// The first positions of one row of a cache.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPart<'a> {
    pub(crate) slot: &'a Slot,
    pub(crate) row: usize,
    pub(crate) positions: usize,
}

/// Where a copy is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Device,
    Host,
}

impl DeviceMemory {
    /// Returns the memory of the provider that runs `session`, by the first of its `names` that the library knows. `load` loads a graph on
    /// the same provider.
    pub(crate) fn new(
        session: &Session,
        names: &[&str],
        elements: &[CacheElement],
        load: impl Fn(&str, Vec<u8>) -> Result<Session>,
    ) -> Result<Self> {
        let (name, allocator) = allocator(session, names)?;
        let info = device_info(&name).map_err(error::runtime("describe the memory of a provider"))?;
        let mut copiers = Vec::new();
        for &element in elements {
            let number = data_type(element.kind());
            copiers.push(Copier {
                element,
                whole: Mutex::new(load("a copy of a tensor", whole_copy(number))?),
                part: Mutex::new(load("a copy of a part of a tensor", part_copy(number))?),
                write: Mutex::new(load("a copy into a tensor", write_into(number))?),
            });
        }
        Ok(Self { name, info, allocator: Mutex::new(allocator), copiers })
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns what outputs are bound to that stay in this memory.
    pub(crate) fn info(&self) -> &MemoryInfo<'static> {
        &self.info
    }

    /// Makes a tensor, whose numbers are not set.
    pub(crate) fn tensor(&self, element: CacheElement, shape: [i64; 4]) -> Result<DynValue> {
        let allocator = locked(&self.allocator);
        let tensor = DynTensor::new(&allocator, element.kind(), shape);
        Ok(tensor.map_err(error::runtime("make room for the cache on the device"))?.into_dyn())
    }

    /// Copies a part of a cache within this memory.
    pub(crate) fn copied(&self, part: RowPart<'_>, from: &DynValue) -> Result<DynValue> {
        self.part(part, from, Target::Device)
    }

    /// Copies a part of a cache to main memory.
    pub(crate) fn part_to_host(&self, part: RowPart<'_>, from: &DynValue) -> Result<DynValue> {
        self.part(part, from, Target::Host)
    }

    /// Copies a tensor to main memory.
    pub(crate) fn to_host(&self, element: CacheElement, from: &DynValue) -> Result<DynValue> {
        let mut session = locked(&self.copier(element)?.whole);
        let action = "read a tensor of the device";
        let mut binding = session.create_binding().map_err(error::runtime(action))?;
        binding.bind_input(FROM, from).map_err(error::runtime(action))?;
        self.run(&mut session, binding, Target::Host).map_err(error::runtime(action))
    }

    /// Writes a copy of a part of a cache into a tensor of this memory.
    pub(crate) fn write(&self, part: RowPart<'_>, from: &DynValue, to: &mut DynValue) -> Result<()> {
        let mut session = locked(&self.copier(part.slot.element)?.write);
        written(&mut session, part, from, to).map_err(error::runtime("write into a tensor of the device"))
    }

    fn part(&self, part: RowPart<'_>, from: &DynValue, target: Target) -> Result<DynValue> {
        let mut session = locked(&self.copier(part.slot.element)?.part);
        let copied = bound_part(&session, part, from);
        let action = "copy a part of a cache on the device";
        let binding = copied.map_err(error::runtime(action))?;
        self.run(&mut session, binding, target).map_err(error::runtime(action))
    }

    /// Runs a graph that makes a copy.
    fn run(&self, session: &mut Session, mut binding: IoBinding, target: Target) -> ort::Result<DynValue> {
        match target {
            Target::Device => binding.bind_output_to_device(COPY, &self.info)?,
            Target::Host => binding.bind_output_to_device(COPY, &host_info()?)?,
        }
        let mut outputs = session.run_binding(&binding)?;
        outputs.remove(COPY).ok_or_else(|| ort::Error::new("a graph made no copy"))
    }

    fn copier(&self, element: CacheElement) -> Result<&Copier> {
        let found = self.copiers.iter().find(|copier| copier.element == element);
        found.ok_or_else(|| error::unsupported(format!("no tensors of {} are copied here", element.kind())))
    }
}

/// Returns the memory in which a graph makes the outputs that are read here.
pub(crate) fn host_info() -> ort::Result<MemoryInfo<'static>> {
    MemoryInfo::new(AllocationDevice::CPU, 0, AllocatorType::Device, MemoryType::CPUOutput)
}

fn device_info(name: &str) -> ort::Result<MemoryInfo<'static>> {
    MemoryInfo::new(AllocationDevice::new(name), 0, AllocatorType::Device, MemoryType::Default)
}

/// Returns an allocator of a session with the first of some names that works.
fn allocator(session: &Session, names: &[&str]) -> Result<(String, Allocator)> {
    let mut last = error::unsupported("the provider has no memory of its own");
    for name in names {
        let made = device_info(name).and_then(|info| Allocator::new(session, info));
        match made {
            Ok(allocator) => return Ok(((*name).to_owned(), allocator)),
            Err(source) => last = error::runtime(&format!("use the memory {name:?}"))(source),
        }
    }
    Err(last)
}

fn bound_part(session: &Session, part: RowPart<'_>, from: &DynValue) -> ort::Result<IoBinding> {
    let row = part.row as i64;
    let mut binding = session.create_binding()?;
    binding.bind_input(FROM, from)?;
    binding.bind_input(STARTS, &Tensor::from_array(([2_usize], vec![row, 0]))?)?;
    binding.bind_input(ENDS, &Tensor::from_array(([2_usize], vec![row + 1, part.positions as i64]))?)?;
    Ok(binding)
}

fn written(session: &mut Session, part: RowPart<'_>, from: &DynValue, to: &mut DynValue) -> ort::Result<()> {
    let heads = part.slot.heads;
    let mut places = Vec::with_capacity(heads * part.positions * 3);
    for head in 0..heads {
        for position in 0..part.positions {
            places.extend([part.row as i64, head as i64, position as i64]);
        }
    }
    let places = Tensor::from_array(([1, heads, part.positions, 3], places))?;
    let mut binding = session.create_binding()?;
    binding.bind_input(TO, to)?;
    binding.bind_input(PLACES, &places)?;
    binding.bind_input(FROM, from)?;
    // The same tensor as input and as output: nothing but the places changes.
    binding.bind_output(COPY, to)?;
    session.run_binding(&binding)?;
    Ok(())
}

/// Returns the number of a type in `onnx.TensorProto.DataType`.
fn data_type(kind: TensorElementType) -> u64 {
    match kind {
        TensorElementType::Uint8 => 2,
        TensorElementType::Int8 => 3,
        TensorElementType::Float16 => 10,
        TensorElementType::Bfloat16 => 16,
        _ => 1,
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic during a copy leaves no state that the next copy would see.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
