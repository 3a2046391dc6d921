//! A plant at work: the logic is evaluated every tenth of a second, as a controller does.

use eog_simulate::Stream;

use super::fault::{Fault, What};
use super::plant::{Actuator, Habit, Loop, Place, Plant, Station};

/// Seconds of a scan of the logic.
const SCAN: f64 = 0.1;

/// Modes of the machine, as they are coded.
const AUTOMATIC: f64 = 1.0;
const SETTING_UP: f64 = 2.0;
const STOPPED: f64 = 5.0;

/// Normal values of the utilities.
const LEVEL: f64 = 40.0;

/// How a run differs from others.
#[derive(Clone, Copy)]
pub(super) struct Setting {
    pub(super) seconds: f64,
    pub(super) pace: f64,
    pub(super) program: u64,
    /// Whether the values of all variables are recorded at its beginning.
    pub(super) snapshot: bool,
    /// Seconds that are recorded after the first alarm.
    pub(super) after_alarm: f64,
}

/// What was recorded of a run: variable, second of the run, value.
#[derive(Default)]
pub(super) struct Course {
    pub(super) records: Vec<(Place, f64, f64)>,
    /// The alarms, and when each was raised.
    pub(super) alarms: Vec<(Place, f64)>,
    pub(super) seconds: f64,
}

/// Where an actuator is.
#[derive(Clone, Default)]
struct Motion {
    /// What it was told last.
    told: bool,
    /// When it arrives, while it moves.
    due: Option<f64>,
    arrived: bool,
    /// When a chattering switch changes next.
    toggles: f64,
    stuck: bool,
    /// Since when the feedback is not what it should be.
    odd_since: Option<f64>,
}

#[derive(Clone)]
struct Chain {
    /// Place in the sequence; nothing between two cycles.
    at: Option<usize>,
    since: f64,
    /// When the next cycle or step begins.
    next: f64,
    motions: Vec<Motion>,
}

struct Vessel {
    /// What is really there, and the further quantity.
    level: f64,
    heat: f64,
    read: f64,
    low_since: Option<f64>,
}

struct Machine<'a> {
    plant: &'a Plant,
    setting: Setting,
    fault: Option<Fault>,
    values: Vec<f64>,
    recorded: Vec<Option<f64>>,
    chains: Vec<Chain>,
    vessels: Vec<Vessel>,
    next: Vec<f64>,
    course: Course,
    hold_until: f64,
    next_hold: f64,
    stop_at: Option<f64>,
    serial: f64,
}

/// One run of a plant, to the end or some time after an alarm.
pub(super) fn run(
    plant: &Plant,
    setting: Setting,
    fault: Option<Fault>,
    draw: &mut Stream,
) -> Course {
    let chain = |station: &Station| Chain {
        at: None,
        since: 0.0,
        next: 0.0,
        motions: vec![Motion::default(); station.actuators.len()],
    };
    let mut chains: Vec<Chain> = plant.stations.iter().map(chain).collect();
    for chain in &mut chains {
        chain.next = 8.0 * draw.share();
    }
    let vessel = |_: &Loop| Vessel { level: LEVEL, heat: 30.0, read: LEVEL, low_since: None };
    let mut machine = Machine {
        plant,
        setting,
        fault,
        values: vec![0.0; plant.variables.len()],
        recorded: vec![None; plant.variables.len()],
        chains,
        vessels: plant.loops.iter().map(vessel).collect(),
        next: vec![0.0; plant.others.len()],
        course: Course::default(),
        hold_until: 0.0,
        next_hold: 60.0 + 500.0 * draw.share(),
        stop_at: None,
        serial: (setting.program * 1_000 + draw.between(0, 900)) as f64,
    };
    machine.begin(draw);
    let mut second = 0.0;
    while second < setting.seconds && machine.stop_at.is_none_or(|stop| second < stop) {
        machine.scan(second, draw);
        machine.record(second, draw);
        second += SCAN;
    }
    machine.course.seconds = second;
    machine.course
}

impl Machine<'_> {
    fn begin(&mut self, draw: &mut Stream) {
        let plant = self.plant;
        self.values[plant.mode] = AUTOMATIC;
        self.values[plant.program] = self.setting.program as f64;
        self.values[plant.speed] = (self.setting.pace * 100.0).round();
        self.values[plant.door] = 1.0;
        self.values[plant.lamp] = 1.0;
        self.values[plant.counter] = self.serial % 97.0;
        for one in &plant.loops {
            self.values[one.setpoint] = LEVEL;
            self.values[one.value] = LEVEL;
            self.values[one.second] = 30.0;
            self.values[one.enough] = 1.0;
        }
        for (number, (place, habit)) in plant.others.iter().enumerate() {
            match habit {
                Habit::Switches(_, mean) => self.next[number] = mean * draw.share(),
                Habit::Serial(mean) => {
                    self.values[*place] = self.serial;
                    self.next[number] = mean * draw.share();
                }
                Habit::Parameter => {
                    self.values[*place] = 12.0;
                    self.next[number] = -4_000.0 * (1.0 - draw.share()).ln();
                }
            }
        }
        for station in &plant.stations {
            for one in &station.actuators {
                if let Some(opposite) = one.opposite {
                    self.values[opposite] = 1.0;
                }
            }
        }
        if !self.setting.snapshot {
            for (recorded, value) in self.recorded.iter_mut().zip(&self.values) {
                *recorded = Some(*value);
            }
        }
    }

    fn scan(&mut self, now: f64, draw: &mut Stream) {
        self.hold(now, draw);
        self.drift_of_others(now, draw);
        for number in 0..self.plant.loops.len() {
            self.keep_up(number, now, draw);
        }
        for number in 0..self.plant.stations.len() {
            self.interlocks(number);
            self.advance(number, now, draw);
            for actuator in 0..self.plant.stations[number].actuators.len() {
                self.moves(number, actuator, now, draw);
            }
            self.supervise(number, now, draw);
        }
    }

    /// People stop the machine, open the door and go on, and nothing is wrong.
    fn hold(&mut self, now: f64, draw: &mut Stream) {
        let (mode, door) = (self.plant.mode, self.plant.door);
        if self.values[mode] == AUTOMATIC && now >= self.next_hold {
            self.values[mode] = SETTING_UP;
            self.hold_until = now + 10.0 + 50.0 * draw.share();
            self.next_hold = self.hold_until + 60.0 + 900.0 * draw.share();
            self.values[door] = if draw.chance(0.5) { 0.0 } else { 1.0 };
            if draw.chance(0.3) {
                self.values[self.plant.program] = draw.between(1, 6) as f64;
            }
        }
        if self.values[mode] == SETTING_UP && now >= self.hold_until {
            self.values[mode] = AUTOMATIC;
            self.values[door] = 1.0;
        }
        self.values[self.plant.lamp] = self.values[mode];
    }

    fn drift_of_others(&mut self, now: f64, draw: &mut Stream) {
        for (number, (place, habit)) in self.plant.others.iter().enumerate() {
            if now < self.next[number] {
                continue;
            }
            let value = self.values[*place];
            match habit {
                Habit::Switches(count, mean) => {
                    let step = if *count == 2 { 1 } else { draw.between(1, count - 1) };
                    self.values[*place] = ((value as u64 + step) % count) as f64;
                    self.next[number] = now - mean * (1.0 - draw.share()).ln();
                }
                Habit::Serial(mean) => {
                    self.serial += draw.between(1, 9) as f64;
                    self.values[*place] = self.serial;
                    self.next[number] = now + mean * (0.8 + 0.4 * draw.share());
                }
                Habit::Parameter => {
                    self.values[*place] = draw.between(5, 20) as f64;
                    self.next[number] = now - 4_000.0 * (1.0 - draw.share()).ln();
                }
            }
        }
    }

    fn active(&self, now: f64) -> Option<What> {
        self.fault.filter(|fault| now >= fault.at).map(|fault| fault.what)
    }

    fn keep_up(&mut self, number: usize, now: f64, draw: &mut Stream) {
        let one = &self.plant.loops[number];
        let active = self.active(now);
        if let Some(What::Setpoint { number: moved, by }) = active
            && moved == number
        {
            self.values[one.setpoint] = LEVEL + by;
        }
        let setpoint = self.values[one.setpoint];
        let busy = self.chains.iter().filter(|chain| chain.at.is_some()).count() as f64;
        let load = busy / self.chains.len().max(1) as f64;
        let on = self.values[one.controller] > 0.5;
        let leak = match active {
            Some(What::Drift { number: which, rate }) if which == number => rate + one.rise,
            _ => 0.0,
        };
        let vessel = &mut self.vessels[number];
        let gain = if on { one.rise } else { 0.0 };
        vessel.level += SCAN * (gain - one.fall * (0.4 + 0.6 * load) - leak);
        vessel.level = vessel.level.clamp(0.0, 100.0);
        let target = if on { 80.0 } else { 20.0 };
        vessel.heat += SCAN * 0.01 * (target - vessel.heat) + 0.01 * (draw.share() - 0.5);
        let is_read = !matches!(active, Some(What::Hang { number: which }) if which == number);
        if is_read {
            vessel.read = vessel.level + one.noise * (draw.share() + draw.share() - 1.0);
        }
        let (read, heat) = (vessel.read, vessel.heat);
        self.values[one.value] = (read * 100.0).round() / 100.0;
        self.values[one.second] = (heat * 10.0).round() / 10.0;
        let is_dead =
            matches!(active, Some(What::DeadController { number: which }) if which == number);
        if !is_dead {
            if read < setpoint - one.band / 2.0 {
                self.values[one.controller] = 1.0;
            } else if read > setpoint + one.band / 2.0 {
                self.values[one.controller] = 0.0;
            }
        }
        let is_enough = (read - LEVEL).abs() < one.band / 2.0 + 2.0;
        self.values[one.enough] = f64::from(u8::from(is_enough));
        let vessel = &mut self.vessels[number];
        vessel.low_since = if is_enough { None } else { vessel.low_since.or(Some(now)) };
        let is_low = vessel.low_since.is_some_and(|since| now - since > 2.0);
        // Where the controller is on for a third of the time, 40 degrees are usual.
        let is_hot = !(20.5..=72.0).contains(&heat);
        if is_low {
            self.raise(one.alarm, now, draw);
        }
        if is_hot {
            self.raise(one.second_alarm, now, draw);
        }
    }

    fn interlocks(&mut self, number: usize) {
        for one in &self.plant.stations[number].actuators {
            if let Some(interlock) = one.interlock {
                let holds = one.wanted.iter().all(|wanted| self.values[*wanted] > 0.5);
                self.values[interlock] = f64::from(u8::from(holds));
            }
        }
    }

    /// The next step, when the last one is done.
    fn advance(&mut self, number: usize, now: f64, draw: &mut Stream) {
        let station = &self.plant.stations[number];
        if self.values[self.plant.mode] != AUTOMATIC {
            self.chains[number].since = now;
            return;
        }
        let count = station.actuators.len();
        let pace = self.setting.pace;
        let chain = &mut self.chains[number];
        let Some(at) = chain.at else {
            if now >= chain.next {
                (chain.at, chain.since, chain.next) = (Some(0), now, now);
            }
            return;
        };
        let (which, wanted) = if at < count { (at, true) } else { (2 * count - 1 - at, false) };
        let one = &station.actuators[which];
        self.values[station.step] = 10.0 * (at + 1) as f64;
        let may = !wanted || one.interlock.is_none_or(|interlock| self.values[interlock] > 0.5);
        if may && now >= chain.next {
            self.values[one.command] = f64::from(u8::from(wanted));
        }
        let done = (self.values[one.feedback] > 0.5) == wanted
            && (self.values[one.command] > 0.5) == wanted;
        if !done {
            return;
        }
        // The work is done between switching on and switching off.
        let work = if at + 1 == count { station.work * (0.9 + 0.2 * draw.share()) } else { 0.2 };
        (chain.since, chain.next) = (now, now + work / pace);
        if at + 1 < 2 * count {
            chain.at = Some(at + 1);
            // A step begins when the one before has settled.
            chain.since = now + work / pace;
            return;
        }
        chain.at = None;
        chain.next = now + (1.0 + 5.0 * draw.share()) / pace;
        self.values[station.step] = 0.0;
        self.values[self.plant.counter] += 1.0;
    }

    fn moves(&mut self, number: usize, which: usize, now: f64, draw: &mut Stream) {
        let one: &Actuator = &self.plant.stations[number].actuators[which];
        let active = self.active(now);
        let mine = |station: usize, actuator: usize| station == number && actuator == which;
        if let Some(What::OutOfOrder { station, actuator }) = active
            && mine(station, actuator)
            && !self.chains[number].motions[which].stuck
        {
            let is_turn = self.chains[number].at.is_some_and(|at| at == which);
            let is_off = self.values[one.command] < 0.5;
            if is_off && !is_turn && self.values[self.plant.mode] == AUTOMATIC {
                self.values[one.command] = 1.0;
                self.chains[number].motions[which].stuck = true;
            }
        }
        let told = self.values[one.command] > 0.5;
        let motion = &mut self.chains[number].motions[which];
        if told != motion.told {
            motion.told = told;
            let normal = (0..6).map(|_| draw.share()).sum::<f64>() - 3.0;
            let mut delay = one.delay / self.setting.pace * (1.0 + one.jitter * normal).max(0.3);
            match active {
                Some(What::Late { station, actuator, times }) if mine(station, actuator) => {
                    delay *= times;
                }
                Some(What::NoResponse { station, actuator, .. }) if mine(station, actuator) => {
                    motion.stuck = true;
                }
                _ => {}
            }
            motion.due = Some(now + delay);
        }
        let at_drive = matches!(active,
            Some(What::NoResponse { station, actuator, at_drive: true }) if mine(station, actuator));
        let is_stuck = motion.stuck && matches!(active, Some(What::NoResponse { .. }));
        if let Some(drive) = one.drive
            && !(at_drive && is_stuck)
        {
            let left = motion.due.map(|due| due - now);
            self.values[drive] = match (told, left) {
                (true, Some(left)) if left > 0.5 * one.delay => 1.0,
                (true, _) => 2.0,
                (false, Some(left)) if left > 0.5 * one.delay => 1.0,
                (false, _) => 0.0,
            };
        }
        if motion.due.is_some_and(|due| now >= due) && !is_stuck {
            motion.due = None;
            motion.arrived = motion.told;
            self.values[one.feedback] = f64::from(u8::from(motion.told));
        }
        match active {
            Some(What::Unasked { station, actuator })
                if mine(station, actuator) && motion.arrived && !motion.stuck && told =>
            {
                motion.stuck = true;
                self.values[one.feedback] = 0.0;
            }
            Some(What::Chatter { station, actuator })
                if mine(station, actuator) && motion.arrived && told && now >= motion.toggles =>
            {
                motion.toggles = now + 0.2 + 0.7 * draw.share();
                self.values[one.feedback] = 1.0 - self.values[one.feedback];
            }
            _ => {}
        }
        if let Some(opposite) = one.opposite {
            let is_home = !told && motion.due.is_none_or(|due| due - now < 0.05) && !is_stuck;
            self.values[opposite] = f64::from(u8::from(is_home));
        }
    }

    /// Raises the alarm of a station when a step takes too long, or a feedback is not what it was
    /// moved to.
    fn supervise(&mut self, number: usize, now: f64, draw: &mut Stream) {
        let station = &self.plant.stations[number];
        if self.values[self.plant.mode] == STOPPED {
            return;
        }
        let slowest = station.actuators.iter().map(|one| one.delay).fold(0.0, f64::max);
        let chain = &mut self.chains[number];
        let running = self.values[self.plant.mode] == AUTOMATIC && chain.at.is_some();
        let mut code = 0.0;
        let limit = station.patience * slowest / self.setting.pace + 2.0;
        if running && now - chain.since > limit {
            code = 1.0;
        }
        for (which, one) in station.actuators.iter().enumerate() {
            let turn = |at: usize| at == which || at == 2 * station.actuators.len() - 1 - which;
            let is_turn = chain.at.is_some_and(turn);
            let expected = match chain.at {
                Some(at) => at > which && at < 2 * station.actuators.len() - which,
                None => false,
            };
            let is_odd = !is_turn && (self.values[one.feedback] > 0.5) != expected;
            let motion = &mut chain.motions[which];
            motion.odd_since = if is_odd { motion.odd_since.or(Some(now)) } else { None };
            if motion.odd_since.is_some_and(|since| now - since > 0.4) {
                code = 2.0 + which as f64;
            }
        }
        if code > 0.0 {
            if let Some(fault) = station.fault {
                self.values[fault] = code;
            }
            self.raise(station.alarm, now, draw);
        }
    }

    fn raise(&mut self, alarm: Place, now: f64, draw: &mut Stream) {
        if self.values[alarm] > 0.5 {
            return;
        }
        self.values[alarm] = 1.0;
        self.course.alarms.push((alarm, now));
        let plant = self.plant;
        self.values[plant.mode] = STOPPED;
        self.values[plant.lamp] = STOPPED;
        self.values[plant.notice] = 700_000.0 + draw.between(1, 400) as f64;
        let stop = now + self.setting.after_alarm;
        self.stop_at = Some(self.stop_at.map_or(stop, |at| at.min(stop)));
        // The machine takes its commands back.
        for station in &plant.stations {
            for one in station.actuators.iter().skip(1) {
                self.values[one.command] = 0.0;
            }
        }
    }

    fn record(&mut self, now: f64, draw: &mut Stream) {
        for (place, variable) in self.plant.variables.iter().enumerate() {
            let value = self.values[place];
            let is_new = self.recorded[place].is_none_or(|last| {
                let moved = (value - last).abs();
                moved > 0.0 && moved >= variable.deadband
            });
            if is_new {
                self.recorded[place] = Some(value);
                let at = now + 0.05 * draw.share();
                self.course.records.push((place, at, value));
            }
        }
    }
}
