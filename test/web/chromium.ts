/** The installed Chromium, for the scenarios and the measurements. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Its path; undefined without one. */
export const CHROMIUM = (process.env['PATH'] ?? '')
  .split(':')
  .flatMap((dir) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(dir, name)))
  .find((path) => existsSync(path))
