const CODES = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])

/** True for the error of a system call that a full disk, a quota, or a limit of the size of files has refused. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error && CODES.has((error as NodeJS.ErrnoException).code ?? '')
