/** Wall time as a collaborator, so that whoever stamps a row or checks an expiry can be tested without waiting. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** ISO 8601 in UTC with milliseconds and `Z`. */
export const isoNow = (clock: Clock): string => new Date(clock.now()).toISOString()
