/** A field with its label, hint and error. */
import { type ReactNode, useId } from 'react'
import './field.css'

/** What a field's control takes. */
type Control = {
  readonly id: string
  readonly className: string
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': true | undefined
}

export type FieldProps = {
  readonly label: string
  readonly hint?: string | undefined
  readonly error?: string | null | undefined
  readonly children: (control: Control) => ReactNode
}

export function Field({ label, hint, error, children }: FieldProps) {
  const id = useId()
  const note = error ?? hint
  return (
    <div className="field">
      <label className="field-label" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        className: 'input',
        'aria-describedby': note === undefined ? undefined : `${id}note`,
        'aria-invalid': error == null ? undefined : true,
      })}
      {note !== undefined && (
        <p
          id={`${id}note`}
          className={error == null ? 'field-hint' : 'field-error'}
          role={error == null ? undefined : 'alert'}
        >
          {note}
        </p>
      )}
    </div>
  )
}
