import type { MutatedFile } from '../mutant.ts'
import { agent } from './agent.ts'
import { answers } from './answers.ts'
import { backup } from './backup.ts'
import { condensation } from './condensation.ts'
import { core } from './core.ts'
import { egress } from './egress.ts'
import { http } from './http.ts'
import { images } from './images.ts'
import { modes } from './modes.ts'
import { postgres } from './postgres.ts'
import { run } from './run.ts'
import { runner } from './runner.ts'
import { secrets } from './secrets.ts'
import { security } from './security.ts'
import { state } from './state.ts'
import { webhooks } from './webhooks.ts'
import { workspace } from './workspace.ts'

/** The mutants by module, in the order in which they run. */
export const MODULES: Readonly<Record<string, readonly MutatedFile[]>> = {
  state,
  core,
  run,
  runner,
  http,
  egress,
  secrets,
  security,
  webhooks,
  agent,
  condensation,
  images,
  answers,
  workspace,
  backup,
  modes,
  postgres,
}
