//! Berth bookings of the internal booking API.

use std::time::Duration;

/// A booking ends this long after the planned departure, so that a late vessel does not collide with the next one.
const DEPARTURE_MARGIN: Duration = Duration::from_secs(45 * 60);

/// An agent may hold this many unconfirmed bookings at once.
const MAX_UNCONFIRMED: usize = 8;

/// A reservation of one berth for one vessel.
pub struct BerthBooking {
    pub berth: String,
    pub vessel_imo: u32,
    pub arrives_at: u64,
    pub departs_at: u64,
    pub is_confirmed: bool,
}

/// Why a booking is rejected.
pub enum BookingRejection {
    /// The berth is taken during part of the window.
    Overlap { other_imo: u32 },
    /// The vessel is longer than the berth minus ten metres of clearance at each end.
    TooLong,
    TooManyUnconfirmed,
}

/// Compares a new booking with those of the same berth. Adjacent bookings may touch, but not overlap.
pub fn find_overlap<'a>(new: &BerthBooking, existing: &'a [BerthBooking]) -> Option<&'a BerthBooking> {
    let margin = DEPARTURE_MARGIN.as_secs();
    existing.iter().find(|old| {
        old.berth == new.berth
            && new.arrives_at < old.departs_at + margin
            && old.arrives_at < new.departs_at + margin
    })
}

/// Unconfirmed bookings expire after 48 hours; the sweeper calls this every ten minutes.
pub fn is_expired(booking: &BerthBooking, created_at: u64, now: u64) -> bool {
    !booking.is_confirmed && now.saturating_sub(created_at) > 48 * 3600
}
