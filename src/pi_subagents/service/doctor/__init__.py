"""Examine this machine: can it delegate, and what is in the way?"""
