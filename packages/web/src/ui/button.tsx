/** Buttons, and links that look like them. */
import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link } from 'wouter'
import './button.css'
import { classNames } from './class-names.ts'

type Look = {
  /** `primary` once per view; `quiet` has no border. */
  readonly look?: 'primary' | 'plain' | 'quiet' | 'danger'
  readonly size?: 'small' | 'normal'
  /** The button shows only an icon; its name is then required. */
  readonly label?: string
  readonly children: ReactNode
}

type ButtonProps = Look &
  Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'type'> & { readonly type?: 'button' | 'submit' }

const classOf = (look: string, size: string, label: string | undefined, own: string | undefined): string =>
  classNames('button', `button-${look}`, size === 'small' && 'button-small', label !== undefined && 'button-icon', own)

export function Button({
  look = 'plain',
  size = 'normal',
  type = 'button',
  label,
  className,
  children,
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      // oxlint-disable-next-line react/button-has-type
      type={type}
      className={classOf(look, size, label, className)}
      aria-label={label ?? rest['aria-label']}
      title={label ?? rest.title}
    >
      {children}
    </button>
  )
}

/** A link to a page of this UI in the form of a button. `isRow`: the keys that move between rows stop at it. */
export function ButtonLink({
  href,
  look = 'plain',
  size = 'normal',
  label,
  className,
  isRow = false,
  children,
}: Look & { readonly href: string; readonly className?: string; readonly isRow?: boolean }) {
  return (
    <Link
      href={href}
      className={classOf(look, size, label, className)}
      aria-label={label}
      title={label}
      data-row={isRow || undefined}
    >
      {children}
    </Link>
  )
}
