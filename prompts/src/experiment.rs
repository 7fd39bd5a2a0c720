//! Experiments: who gets which version of a prompt.

use std::sync::Arc;

use alloquy_core::media::Digest;
use alloquy_core::prompt_library::{
    FilledPrompt, Prompt, PromptInfo, PromptLibrary, PromptName, PromptRetrieval, PromptVersion, Values,
};
use alloquy_core::{Error, ErrorKind, Result};
use md5::{Digest as _, Md5};

/// An experiment: arms with weights, of which each user gets the same one each time.
///
/// ```
/// use alloquy_core::prompt_library::{PromptName, PromptVersion, VersionNumber};
/// use alloquy_prompts::{Arm, Experiment};
///
/// let old = Arm::new("old", PromptVersion::Number(VersionNumber(1, 0, 0)), 9);
/// let new = Arm::new("new", PromptVersion::Number(VersionNumber(1, 1, 0)), 1);
/// let experiment = Experiment::new("shorter greeting", PromptName::user("greet"), [old, new])?;
/// let arm = experiment.arm("user-17");
/// assert_eq!(arm, experiment.arm("user-17"));
///
/// let news = (0..10_000).filter(|user| experiment.arm(&format!("user-{user}")).name == "new").count();
/// assert!((900..1100).contains(&news));
/// # Ok::<(), alloquy_core::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    name: String,
    prompt: PromptName,
    arms: Vec<Arm>,
    last: Arm,
    total: u64,
    split: Split,
}

/// An arm of an experiment.
///
/// [`Experiment`] has an example.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Arm {
    /// Its name, which nodes store.
    pub name: String,
    /// The version that it uses.
    pub version: PromptVersion,
    /// How often it is chosen, compared with the weights of the other arms.
    pub weight: u32,
}

impl Arm {
    /// Creates an arm.
    pub fn new(name: impl Into<String>, version: PromptVersion, weight: u32) -> Self {
        Self { name: name.into(), version, weight }
    }
}

/// How an experiment chooses the arm of a user.
///
/// [`Experiment::split`] has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Split {
    /// By the SHA-256 of the experiment's name and the user, so that experiments are independent of each other.
    #[default]
    Salted,
    /// By the MD5 of the user alone, in a thousand steps, over the versions sorted as texts: as dataknobs 0.10 does. A user then has
    /// the same place in every experiment.
    Dataknobs,
}

impl Experiment {
    /// Creates an experiment with a prompt.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if no arm has a weight, or if two arms have one name.
    pub fn new(
        name: impl Into<String>,
        prompt: PromptName,
        arms: impl IntoIterator<Item = Arm>,
    ) -> Result<Self> {
        let name = name.into();
        let arms: Vec<_> = arms.into_iter().filter(|arm| arm.weight > 0).collect();
        let Some(last) = arms.last().cloned() else {
            let message = format!("experiment {name:?} has no arm with a weight; give it at least one");
            return Err(Error::new(ErrorKind::Invalid, message));
        };
        for (index, arm) in arms.iter().enumerate() {
            if arms.iter().skip(index + 1).any(|other| other.name == arm.name) {
                let message = format!("experiment {name:?} has two arms {:?}; rename one", arm.name);
                return Err(Error::new(ErrorKind::Invalid, message));
            }
        }
        let total = arms.iter().map(|arm| u64::from(arm.weight)).sum();
        Ok(Self { name, prompt, arms, last, total, split: Split::default() })
    }

    /// Sets how the arm of a user is chosen.
    ///
    /// ```
    /// use alloquy_core::prompt_library::PromptName;
    /// use alloquy_prompts::{Arm, Experiment, Split};
    ///
    /// let arms = [Arm::new("a", "1.0.0".parse()?, 50), Arm::new("b", "1.1.0".parse()?, 30), Arm::new("c", "2.0.0".parse()?, 20)];
    /// let experiment = Experiment::new("e", PromptName::system("p"), arms)?.split(Split::Dataknobs);
    /// assert_eq!(experiment.arm("user0").name, "c");
    /// # Ok::<(), alloquy_core::Error>(())
    /// ```
    #[must_use]
    pub fn split(mut self, split: Split) -> Self {
        self.split = split;
        if split == Split::Dataknobs {
            self.arms.sort_by_key(|arm| arm.version.to_string());
            if let Some(last) = self.arms.last() {
                self.last = last.clone();
            }
        }
        self
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the arm of a unit: a user, or a conversation.
    pub fn arm(&self, unit: &str) -> &Arm {
        match self.split {
            Split::Salted => self.salted(unit),
            Split::Dataknobs => self.dataknobs(unit),
        }
    }

    fn salted(&self, unit: &str) -> &Arm {
        let digest = Digest::of(format!("{}\0{unit}", self.name).as_bytes());
        let drawn = digest.as_bytes().iter().take(8).fold(0_u64, |sum, byte| (sum << 8) | u64::from(*byte));
        // The high half of the product is even over the weights, whatever their sum is.
        let place = (u128::from(drawn) * u128::from(self.total)) >> 64;
        let mut end = 0_u128;
        for arm in &self.arms {
            end += u128::from(arm.weight);
            if place < end {
                return arm;
            }
        }
        &self.last
    }

    #[expect(clippy::cast_precision_loss, reason = "sums of weights of 32 bits are exact in a double")]
    fn dataknobs(&self, unit: &str) -> &Arm {
        let drawn =
            Md5::digest(unit.as_bytes()).iter().fold(0_u128, |sum, byte| (sum << 8) | u128::from(*byte));
        let place = (drawn % 1000) as f64 / 1000.0;
        let mut end = 0.0;
        for arm in &self.arms {
            end += f64::from(arm.weight) / self.total as f64;
            if place < end {
                return arm;
            }
        }
        &self.last
    }

    /// Finds the prompt of a unit's arm. What it is filled in to names the arm in its facts.
    ///
    /// # Errors
    /// As [`PromptLibrary::prompt`].
    pub fn prompt(&self, library: &dyn PromptLibrary, unit: &str) -> Result<Arc<dyn Prompt>> {
        let arm = self.arm(unit);
        let prompt = library.prompt(&self.prompt.clone().at(arm.version.clone()))?;
        let mut info = prompt.info().clone();
        info.arm = Some(format!("{}/{}", self.name, arm.name));
        Ok(Arc::new(ArmPrompt { info, prompt }))
    }
}

/// The prompt of an arm.
#[derive(Debug)]
struct ArmPrompt {
    info: PromptInfo,
    prompt: Arc<dyn Prompt>,
}

#[deny(clippy::missing_trait_methods)]
impl Prompt for ArmPrompt {
    fn info(&self) -> &PromptInfo {
        &self.info
    }

    fn fill(&self, values: &Values) -> Result<FilledPrompt> {
        let mut filled = self.prompt.fill(values)?;
        filled.facts.arm.clone_from(&self.info.arm);
        Ok(filled)
    }

    fn retrievals(&self) -> &[PromptRetrieval] {
        self.prompt.retrievals()
    }
}
