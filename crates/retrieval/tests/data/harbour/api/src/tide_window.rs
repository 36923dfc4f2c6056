//! Finds the times at which the water over the Sill is deep enough.

/// Water that must remain under the keel, in centimetres.
const UNDER_KEEL_CLEARANCE: u32 = 70;
/// Squat adds this many centimetres at eight knots, the speed at which the Sill is passed.
const SQUAT: u32 = 35;

/// One predicted water level.
pub struct TideLevel {
    pub at: u64,
    /// Centimetres above chart datum.
    pub level: u32,
}

/// A span in which a vessel can pass.
pub struct PassableSpan {
    pub from: u64,
    pub until: u64,
}

/// Levels are given every six minutes. A span shorter than 20 minutes is left out, because no pilot would start it.
pub fn find_passable_spans(levels: &[TideLevel], charted: u32, draught: u32) -> Vec<PassableSpan> {
    let needed = draught + UNDER_KEEL_CLEARANCE + SQUAT;
    let mut spans: Vec<PassableSpan> = vec![];
    let mut began: Option<u64> = None;
    for level in levels {
        let is_deep = charted + level.level >= needed;
        match (is_deep, began) {
            (true, None) => began = Some(level.at),
            (false, Some(from)) => {
                spans.push(PassableSpan { from, until: level.at });
                began = None;
            }
            _ => {}
        }
    }
    spans.retain(|span| span.until - span.from >= 20 * 60);
    spans
}
