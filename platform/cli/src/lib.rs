//! The program dinrail.
#![no_std]
