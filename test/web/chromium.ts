/** The installed Chromium. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Undefined without one. */
export const chromiumPath = (process.env['PATH'] ?? '')
  .split(':')
  .flatMap((dir) => ['chromium', 'chromium-browser', 'google-chrome'].map((name) => join(dir, name)))
  .find((path) => existsSync(path))
