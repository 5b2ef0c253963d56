import { FairSlots } from '../lib/index.ts'
import type { LimitsOf } from './limits.ts'

/** Share of the run slots that only users without a run may take. Source: docs/quotas.md, Runs. */
const RESERVED = 1 / 8

/** The run slots of a process. @param isShared true where several users share them */
export function openRunSlots(count: number, limits: LimitsOf, isShared: boolean): FairSlots {
  return new FairSlots({
    count,
    mostOf: (user) => limits(user).runs,
    reserved: isShared ? Math.ceil(count * RESERVED) : 0,
  })
}
