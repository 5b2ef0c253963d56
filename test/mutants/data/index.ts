import type { MutatedFile } from '../mutant.ts'
import { http } from './http.ts'
import { secrets } from './secrets.ts'

/** The mutants by module, in the order in which they run. */
export const MODULES: Readonly<Record<string, readonly MutatedFile[]>> = { http, secrets }
