//! Plants that a seed makes up: what variables there are, and what acts on what.

use std::collections::BTreeSet;

use eog::EntityId;
use eog::evidence::Signal;
use eog_simulate::Stream;

/// A variable by its place.
pub(super) type Place = usize;

/// What is recorded of a variable.
pub(super) struct Variable {
    pub(super) name: EntityId,
    pub(super) metric: &'static str,
    pub(super) signal: Signal,
    /// A number is recorded when it differs by this much from what was recorded last.
    pub(super) deadband: f64,
    /// Recorded as events, one for each state.
    pub(super) as_events: bool,
    pub(super) hidden: bool,
}

/// What moves on command, and says when it has arrived.
pub(super) struct Actuator {
    pub(super) command: Place,
    /// A coded state between command and feedback: off, getting ready, running.
    pub(super) drive: Option<Place>,
    pub(super) feedback: Place,
    /// A second switch at the other end.
    pub(super) opposite: Option<Place>,
    /// Whether the command may be given.
    pub(super) interlock: Option<Place>,
    /// What the interlock asks for.
    pub(super) wanted: Vec<Place>,
    /// Seconds from command to feedback, and how far they vary.
    pub(super) delay: f64,
    pub(super) jitter: f64,
}

/// A chain of steps: all actuators on, the work, all off in turn.
pub(super) struct Station {
    pub(super) step: Place,
    pub(super) actuators: Vec<Actuator>,
    pub(super) work: f64,
    /// A supervisor between the chain and the alarm, in some plants.
    pub(super) fault: Option<Place>,
    pub(super) alarm: Place,
    /// A step may take this many times its usual time.
    pub(super) patience: f64,
}

/// A value that a controller with two limits keeps up.
pub(super) struct Loop {
    pub(super) setpoint: Place,
    pub(super) value: Place,
    pub(super) controller: Place,
    pub(super) enough: Place,
    /// What follows the controller slowly, such as a temperature.
    pub(super) second: Place,
    pub(super) alarm: Place,
    pub(super) second_alarm: Place,
    pub(super) band: f64,
    pub(super) rise: f64,
    pub(super) fall: f64,
    pub(super) noise: f64,
}

/// What moves by itself and acts on nothing.
pub(super) enum Habit {
    /// Switches between this many values, after so many seconds in the mean.
    Switches(u64, f64),
    /// A number that never comes again, such as that of a part.
    Serial(f64),
    /// Touched hardly ever.
    Parameter,
}

pub(super) struct Plant {
    pub(super) variables: Vec<Variable>,
    /// What acts on what.
    pub(super) edges: BTreeSet<(Place, Place)>,
    pub(super) stations: Vec<Station>,
    pub(super) loops: Vec<Loop>,
    pub(super) others: Vec<(Place, Habit)>,
    pub(super) mode: Place,
    pub(super) program: Place,
    pub(super) speed: Place,
    pub(super) counter: Place,
    pub(super) door: Place,
    pub(super) notice: Place,
    pub(super) lamp: Place,
}

#[derive(Default)]
struct Maker {
    names: BTreeSet<String>,
    variables: Vec<Variable>,
    edges: BTreeSet<(Place, Place)>,
    /// Whether drives, feedbacks and limits are labelled as speaking of availability.
    labelled: bool,
    event_share: f64,
}

impl Maker {
    fn add(&mut self, metric: &'static str, deadband: f64, draw: &mut Stream) -> Place {
        let name = self.fresh(draw);
        let coded = deadband == 0.0;
        self.variables.push(Variable {
            name,
            metric,
            signal: Signal::Other,
            deadband,
            as_events: coded && draw.chance(self.event_share),
            hidden: false,
        });
        self.variables.len() - 1
    }

    /// A code that tells nothing of what the variable does.
    fn fresh(&mut self, draw: &mut Stream) -> EntityId {
        loop {
            let (byte, bit) = (draw.between(10, 999), draw.below(8));
            let letter = draw.pick(&["M", "E", "A", "V", "D"]).copied().unwrap_or("M");
            let name = format!("{letter}{byte}.{bit}");
            if self.names.insert(name.clone())
                && let Ok(name) = EntityId::new(name)
            {
                return name;
            }
        }
    }

    fn hard(&mut self, place: Place) {
        if self.labelled {
            self.variables[place].signal = Signal::Availability;
        }
    }

    fn acts(&mut self, from: Place, to: Place) {
        if from != to {
            self.edges.insert((from, to));
        }
    }
}

/// The plant of a seed.
pub(super) fn draw(draw: &mut Stream) -> Plant {
    let mut maker = Maker {
        labelled: draw.chance(0.3),
        event_share: if draw.chance(0.3) { 0.5 } else { 0.05 },
        ..Maker::default()
    };
    let coded = |maker: &mut Maker, metric, draw: &mut Stream| maker.add(metric, 0.0, draw);
    let mode = coded(&mut maker, "mode", draw);
    let program = coded(&mut maker, "program", draw);
    let speed = coded(&mut maker, "override", draw);
    let counter = coded(&mut maker, "count", draw);
    let door = coded(&mut maker, "state", draw);
    let notice = coded(&mut maker, "message", draw);
    let lamp = coded(&mut maker, "state", draw);
    let mut plant = Plant {
        variables: Vec::new(),
        edges: BTreeSet::new(),
        stations: Vec::new(),
        loops: Vec::new(),
        others: Vec::new(),
        mode,
        program,
        speed,
        counter,
        door,
        notice,
        lamp,
    };
    for _ in 0..draw.between(1, 3) {
        let station = station(&mut maker, &plant, draw);
        plant.stations.push(station);
    }
    for _ in 0..draw.between(1, 3) {
        let utility = utility(&mut maker, &mut plant, draw);
        plant.loops.push(utility);
    }
    for number in 0..draw.between(6, 18) {
        let place = coded(&mut maker, "value", draw);
        let habit = match number % 4 {
            0 => Habit::Serial(20.0 + 200.0 * draw.share()),
            1 => Habit::Parameter,
            _ => Habit::Switches(draw.between(2, 6), 3.0 + 120.0 * draw.share()),
        };
        plant.others.push((place, habit));
    }
    maker.acts(mode, lamp);
    maker.acts(door, mode);
    spurious(&mut maker, &plant, draw);
    // Nobody drew every edge.
    let forgotten = 0.08 * draw.share();
    maker.edges.retain(|_| !draw.chance(forgotten));
    // Some variables are in the logic and not in the recording.
    let hidden = 0.06 * draw.share();
    for variable in &mut maker.variables {
        variable.hidden = draw.chance(hidden);
    }
    Plant { variables: maker.variables, edges: maker.edges, ..plant }
}

fn station(maker: &mut Maker, plant: &Plant, draw: &mut Stream) -> Station {
    let step = maker.add("step", 0.0, draw);
    let alarm = maker.add("alarm", 0.0, draw);
    maker.hard(alarm);
    let fault = draw.chance(0.5).then(|| maker.add("fault", 0.0, draw));
    let told = fault.unwrap_or(alarm);
    maker.acts(told, alarm);
    maker.acts(alarm, plant.mode);
    maker.acts(told, plant.notice);
    for from in [plant.mode, plant.program, plant.speed] {
        maker.acts(from, step);
    }
    maker.acts(step, plant.counter);
    if draw.chance(0.5) {
        maker.acts(step, told);
    }
    let mut actuators: Vec<Actuator> = Vec::new();
    for _ in 0..draw.between(3, 6) {
        let one = actuator(maker, plant, &actuators, step, draw);
        maker.acts(one.feedback, told);
        if draw.chance(0.5) {
            maker.acts(one.command, told);
        }
        actuators.push(one);
    }
    let (work, patience) = (2.0 + 10.0 * draw.share(), 4.0 + 4.0 * draw.share());
    Station { step, actuators, work, fault, alarm, patience }
}

fn actuator(
    maker: &mut Maker,
    plant: &Plant,
    before: &[Actuator],
    step: Place,
    draw: &mut Stream,
) -> Actuator {
    let command = maker.add("command", 0.0, draw);
    let drive = draw.chance(0.3).then(|| maker.add("state", 0.0, draw));
    let feedback = maker.add("state", 0.0, draw);
    let opposite = draw.chance(0.3).then(|| maker.add("state", 0.0, draw));
    for hard in drive.into_iter().chain([feedback]) {
        maker.hard(hard);
    }
    maker.acts(step, command);
    maker.acts(plant.mode, command);
    let acting = drive.unwrap_or(command);
    maker.acts(command, acting);
    maker.acts(acting, feedback);
    maker.acts(feedback, step);
    if let Some(opposite) = opposite {
        maker.acts(acting, opposite);
    }
    let interlock = (!before.is_empty() && draw.chance(0.4)).then(|| maker.add("ready", 0.0, draw));
    let mut wanted = Vec::new();
    if let Some(interlock) = interlock {
        wanted.push(plant.door);
        wanted.extend(before.last().map(|one| one.feedback));
        for from in &wanted {
            maker.acts(*from, interlock);
        }
        maker.acts(interlock, command);
    }
    let (delay, jitter) = (0.3 + 3.0 * draw.share(), 0.03 + 0.12 * draw.share());
    Actuator { command, drive, feedback, opposite, interlock, wanted, delay, jitter }
}

fn utility(maker: &mut Maker, plant: &mut Plant, draw: &mut Stream) -> Loop {
    let setpoint = maker.add("setpoint", 0.0, draw);
    let noise = 0.02 + 0.1 * draw.share();
    let value = maker.add("value", 4.0 * noise, draw);
    let controller = maker.add("command", 0.0, draw);
    let enough = maker.add("ready", 0.0, draw);
    let second = maker.add("value", 0.3, draw);
    let alarm = maker.add("alarm", 0.0, draw);
    let second_alarm = maker.add("alarm", 0.0, draw);
    for (from, to) in [
        (setpoint, controller),
        (value, controller),
        (controller, value),
        (value, enough),
        (controller, second),
        (second, second_alarm),
        (enough, alarm),
        (alarm, plant.mode),
        (second_alarm, plant.mode),
        (alarm, plant.notice),
    ] {
        maker.acts(from, to);
    }
    maker.hard(alarm);
    maker.hard(enough);
    // What waits for it.
    let station = draw.position(plant.stations.len());
    if let Some(station) = plant.stations.get_mut(station) {
        for actuator in station.actuators.iter_mut().filter(|one| one.interlock.is_some()) {
            actuator.wanted.push(enough);
            maker.acts(enough, actuator.interlock.unwrap_or(enough));
        }
    }
    Loop {
        setpoint,
        value,
        controller,
        enough,
        second,
        alarm,
        second_alarm,
        band: 2.0 + 3.0 * draw.share(),
        rise: 0.3 + 0.7 * draw.share(),
        fall: 0.1 + 0.25 * draw.share(),
        noise,
    }
}

/// What is read in the logic and does not matter: others act on steps, supervisors and alarms as well.
fn spurious(maker: &mut Maker, plant: &Plant, draw: &mut Stream) {
    let mut targets: Vec<Place> = Vec::new();
    for station in &plant.stations {
        targets.extend([station.step, station.alarm]);
        targets.extend(station.fault);
        targets.extend(station.actuators.iter().map(|one| one.command));
    }
    for one in &plant.loops {
        targets.extend([one.alarm, one.second_alarm, one.controller]);
    }
    let alarms: BTreeSet<Place> = plant
        .stations
        .iter()
        .map(|one| one.alarm)
        .chain(plant.loops.iter().flat_map(|one| [one.alarm, one.second_alarm]))
        .collect();
    for (place, _) in &plant.others {
        for _ in 0..draw.between(1, 2) {
            let to = targets[draw.position(targets.len())];
            maker.acts(*place, to);
        }
    }
    let count = maker.edges.len() / 6;
    for _ in 0..count {
        let from = draw.position(maker.variables.len());
        let to = targets[draw.position(targets.len())];
        if !alarms.contains(&from) && from != plant.lamp && from != plant.notice {
            maker.acts(from, to);
        }
    }
}
