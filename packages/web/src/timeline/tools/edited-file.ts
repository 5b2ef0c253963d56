import { textOf } from '../../log/read.ts'
import type { Call } from '../call.ts'

/** Path of the file of a call. */
export const pathOf = ({ action, observation }: Call): string =>
  textOf(action['path']) || textOf(action['file_path']) || textOf(observation['path'])

/** True for a call that shows a file and changes nothing. */
export const isReading = ({ action, kind }: Call): boolean => kind === 'ReadFileAction' || action['command'] === 'view'
