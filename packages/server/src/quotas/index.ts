export { LIMITS, openLimits, type LimitsOf, type ListedLimits, type UserLimits } from './limits.ts'
export { openRunSlots } from './run-slots.ts'
