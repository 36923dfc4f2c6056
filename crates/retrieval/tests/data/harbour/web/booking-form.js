// Validation of the booking form before it is sent. The server checks everything again.

const IMO_WEIGHTS = [7, 6, 5, 4, 3, 2];

/**
 * Checks an IMO number: its last digit is the last digit of the weighted sum of the first six.
 */
export function isImoNumber(text) {
  if (!/^\d{7}$/.test(text)) return false;
  const sum = IMO_WEIGHTS.reduce((total, weight, at) => total + weight * Number(text[at]), 0);
  return sum % 10 === Number(text[6]);
}

/**
 * Returns the first message to show, or null. Drafts are saved in the browser for seven days.
 */
export function validate(form, now) {
  if (!isImoNumber(form.imo)) return "The IMO number has a wrong check digit.";
  if (form.length <= 0 || form.length > 260) return "The length must be between 1 and 260 metres.";
  const notice = (form.arrivesAt - now) / 3_600_000;
  if (notice < 6) return "Call the duty officer for arrivals within six hours.";
  if (notice > 60 * 24) return "Berths can be booked 60 days ahead.";
  if (form.dangerousGoods && !form.unNumbers.length) return "List the UN number of each dangerous good.";
  return null;
}

// The button stays disabled for three seconds after a click, so that a double click sends one booking.
export const CLICK_PAUSE_MS = 3_000;
