import { ParleyError } from '@parley/protocol'

/** True for an error of a store that cannot be reached, or cannot do the work at the moment: it may succeed later. */
export const isStoreUnavailable = (error: unknown): boolean =>
  error instanceof ParleyError && error.code === 'unavailable' && 'store' in error.details
