/** Turns errors of the file system into answers. */
import { ParleyError, type ErrorCode } from '@parley/protocol'

const REFUSALS: Readonly<Record<string, ErrorCode>> = {
  ENOENT: 'not_found',
  ENOTDIR: 'not_found',
  EACCES: 'forbidden',
  EPERM: 'forbidden',
  EROFS: 'forbidden',
  EISDIR: 'bad_request',
  ELOOP: 'bad_request',
  ENAMETOOLONG: 'bad_request',
  ENOTEMPTY: 'conflict',
  ENOSPC: 'unavailable',
  EDQUOT: 'unavailable',
}

/**
 * Turns refusals of the file system into errors for the caller, which name `path` and no other; other errors are bugs and pass
 * unchanged.
 */
export async function asParleyError<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const { code: errno, message } = error as NodeJS.ErrnoException
    const code = errno === undefined ? undefined : REFUSALS[errno]
    if (code === undefined) throw error
    // The operation may have used another name of the same file.
    throw new ParleyError(code, message.replace(/'.*'$/s, `'${path}'`), { details: { path }, cause: error })
  }
}

/** For `catch`: null when nothing is there. */
export function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'EINVAL') return null
  throw error
}
